import { type Prisma, type PrismaClient } from '../generated/client';
import { type Sql } from '../sql';
import { type Json, toJson } from './json';

export interface MechanismSummary {
  /** 64 hex digits: the artifact's id. */
  readonly id: string;
  readonly name: string;
  /** Ed25519 public key, hex. */
  readonly signer: string;
  readonly claim: Json;
  readonly lineage: Json;
  readonly metrics: Json;
  readonly jobId: string | null;
  readonly createdAt: Date;
}

export interface NewMechanism {
  readonly id: string;
  readonly name: string;
  readonly signer: string;
  /** The signed artifact. */
  readonly file: Uint8Array;
  /** p(z | D1) as weighted prototypes. */
  readonly prior?: Uint8Array;
  readonly decoder?: Uint8Array;
  readonly claim: unknown;
  readonly lineage: unknown;
  readonly metrics: unknown;
  readonly jobId?: string;
}

export type MechanismPart = 'file' | 'prior' | 'decoder';

const SUMMARY = {
  id: true,
  name: true,
  signer: true,
  claim: true,
  lineage: true,
  metrics: true,
  jobId: true,
  createdAt: true,
} satisfies Prisma.MechanismSelect;

/** Published mechanisms; written by mechanism-training. */
export class MechanismRepository {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly pool: Sql,
  ) {}

  /**
   * The id is the content's hash, so one that is there already is the same mechanism and stays as it is.
   * @param within a transaction that it shall be part of
   */
  async publish(mechanism: NewMechanism, within: Sql = this.pool): Promise<'published' | 'present'> {
    const { id, name, signer, file, prior, decoder, claim, lineage, metrics, jobId } = mechanism;
    const { rowCount } = await within.query(
      `INSERT INTO mechanisms (id, name, signer, file, prior, decoder, claim, lineage, metrics, job_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING`,
      [id, name, signer, file, prior, decoder, toJson(claim), toJson(lineage), toJson(metrics), jobId],
    );
    return rowCount === 1 ? 'published' : 'present';
  }

  /** @param reference an id, or a name: then the newest of that name */
  async find(reference: string): Promise<MechanismSummary | undefined> {
    const found = await this.prisma.mechanism.findFirst({
      where: { OR: [{ id: reference }, { name: reference }] },
      orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
      select: SUMMARY,
    });
    return found ?? undefined;
  }

  /** Newest first. */
  list({ limit = 100 }: { limit?: number } = {}): Promise<MechanismSummary[]> {
    return this.prisma.mechanism.findMany({
      orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
      select: SUMMARY,
      take: limit,
    });
  }

  /** The bytes of one part; undefined when there is no such mechanism or it has no such part. */
  async read(id: string, part: MechanismPart): Promise<Uint8Array | undefined> {
    const found = await this.prisma.mechanism.findUnique({
      where: { id },
      select: { file: part === 'file', prior: part === 'prior', decoder: part === 'decoder' },
    });
    return found?.[part] ?? undefined;
  }
}

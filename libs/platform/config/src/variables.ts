import { z } from 'zod';
import {
  address,
  databaseAddress,
  folder,
  folders,
  hex,
  hostName,
  hostPorts,
  oneOf,
  someOf,
  variable,
  wholeNumber,
} from './variable';

const HOUR_MS = 3_600_000;
const SASL = ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const;

/** Every variable that any program of Undertone reads, by the name of its field. */
export const VARIABLES = {
  home: variable(folder(), {
    name: 'UNDERTONE_HOME',
    about: 'Folder for what must outlive a restart: the embedded database, checkpoints, the signing key.',
    defaultText: './.undertone',
  }),
  databaseUrl: variable(databaseAddress(), {
    name: 'DATABASE_URL',
    about: 'PostgreSQL (15 or later) to use. Unset: an embedded one, with its data in UNDERTONE_HOME.',
    secret: 'yes',
  }),
  databasePoolMax: variable(wholeNumber({ from: 1, to: 1000 }), {
    name: 'UNDERTONE_DATABASE_POOL_MAX',
    about: 'Database connections of one process at most.',
    defaultText: '20',
  }),
  databaseStatementTimeoutMs: variable(wholeNumber({ from: 100, to: HOUR_MS }), {
    name: 'UNDERTONE_DATABASE_STATEMENT_TIMEOUT_MS',
    about: 'How long one database statement may run.',
    defaultText: '60000',
  }),
  kafkaBrokers: variable(hostPorts(), {
    name: 'KAFKA_BROKERS',
    about:
      'Kafka brokers (host:port, separated by commas) that reports go through. Unset: they go through the database.',
  }),
  kafkaTls: variable(oneOf('off', 'on'), {
    name: 'KAFKA_TLS',
    about: 'on: brokers are spoken to over TLS, and their certificates are checked.',
    defaultText: 'off',
  }),
  kafkaSaslMechanism: variable(oneOf('plain', 'scram-sha-256', 'scram-sha-512'), {
    name: 'KAFKA_SASL_MECHANISM',
    about: 'How to log in to the brokers: plain, scram-sha-256 or scram-sha-512. Unset: no login.',
    together: SASL,
  }),
  kafkaSaslUsername: variable(z.string(), {
    name: 'KAFKA_SASL_USERNAME',
    about: 'User that logs in to the brokers.',
    together: SASL,
  }),
  kafkaSaslPassword: variable(z.string(), {
    name: 'KAFKA_SASL_PASSWORD',
    about: 'Password of that user.',
    secret: 'yes',
    together: SASL,
  }),
  kafkaConnectTimeoutMs: variable(wholeNumber({ from: 100, to: HOUR_MS }), {
    name: 'KAFKA_CONNECT_TIMEOUT_MS',
    about: 'How long the start waits for the brokers before it fails.',
    defaultText: '30000',
  }),
  gatewayParts: variable(someOf('edge', 'ingest'), {
    name: 'UNDERTONE_GATEWAY_PARTS',
    about:
      'What the collection gateway does in this process: edge (takes reports in over HTTP), ingest (stores them), or both.',
    defaultText: 'edge,ingest',
  }),
  ingestStallMs: variable(wholeNumber({ from: 100, to: HOUR_MS }), {
    name: 'UNDERTONE_INGEST_STALL_MS',
    about:
      'How long the ingest may do nothing at all before the process ends, for its supervisor to restart it.',
    defaultText: '120000',
  }),
  reportRetentionDays: variable(wholeNumber({ from: 1, to: 36_500 }), {
    name: 'UNDERTONE_REPORT_RETENTION_DAYS',
    about: 'Days after the closing of a task when its reports are deleted. Unset: they are kept.',
  }),
  host: variable(hostName(), {
    name: 'UNDERTONE_HOST',
    about: 'Interface to listen on; 0.0.0.0 for all of them.',
    defaultText: '127.0.0.1',
  }),
  port: variable(wholeNumber({ from: 0, to: 65535 }), {
    name: 'UNDERTONE_PORT',
    about: 'Port to listen on; 0 takes a free one.',
    defaultText: '8377',
  }),
  shutdownTimeoutMs: variable(wholeNumber({ from: 100, to: HOUR_MS }), {
    name: 'UNDERTONE_SHUTDOWN_TIMEOUT_MS',
    about: 'How long requests and jobs in flight may take to end after SIGTERM or Ctrl-C.',
    defaultText: '15000',
  }),
  logLevel: variable(oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), {
    name: 'UNDERTONE_LOG_LEVEL',
    about: 'fatal, error, warn, info, debug, trace or silent.',
    defaultText: 'info',
  }),
  url: variable(address('http', 'https'), {
    name: 'UNDERTONE_URL',
    about: 'Where the commands of `undertone` find the services.',
    defaultText: 'http://127.0.0.1:8377',
  }),
  engine: variable(oneOf('auto', 'tensorflow', 'wasm', 'cpu'), {
    name: 'UNDERTONE_ENGINE',
    about: 'Engine that trains: tensorflow (native), wasm, cpu, or auto for the first of these that works.',
    defaultText: 'auto',
  }),
  dataRoots: variable(folders(), {
    name: 'UNDERTONE_DATA_ROOTS',
    about: "Folders that jobs may read data sets from, separated by ':'.",
    defaultText: './data',
  }),
  trainers: variable(wholeNumber({ from: 1, to: 64 }), {
    name: 'UNDERTONE_TRAINERS',
    about: 'Training processes of each kind that may run at the same time.',
    defaultText: '1',
  }),
  jobLeaseMs: variable(wholeNumber({ from: 1_000, to: HOUR_MS }), {
    name: 'UNDERTONE_JOB_LEASE_MS',
    about: 'How long a job may be silent before another process takes it over.',
    defaultText: '10000',
  }),
  jobAttempts: variable(wholeNumber({ from: 1, to: 100 }), {
    name: 'UNDERTONE_JOB_ATTEMPTS',
    about: 'How often a trainer that crashes is started again before its job has failed.',
    defaultText: '3',
  }),
  signingKey: variable(hex(32), {
    name: 'UNDERTONE_SIGNING_KEY',
    about:
      'Ed25519 secret key (64 hex digits) that signs artifacts. Unset: one is made and kept in UNDERTONE_HOME.',
    secret: 'yes',
  }),
  dataFolder: variable(folder(), {
    name: 'UNDERTONE_DATA_DIR',
    about: 'Where tests and benchmarks look for data sets that no package holds. Unset: ../shared/data.',
  }),
  peersPython: variable(z.string(), {
    name: 'UNDERTONE_PEERS_PYTHON',
    about: 'Python with PyTorch, which `npm run bench -- training` measures against.',
  }),
  cacheFolder: variable(folder(), {
    name: 'UNDERTONE_CACHE_DIR',
    about: 'Where the set-up keeps what it downloads and builds. Unset: ~/.cache/undertone.',
  }),
} as const;

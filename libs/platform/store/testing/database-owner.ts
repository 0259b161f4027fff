import { EmbeddedDatabase } from '../src/embedded/embedded-database';

/** Runs an embedded database until it is killed: `node --require tools/typescript.cjs database-owner.ts HOME`. */
EmbeddedDatabase.start({ home: process.argv[2], durability: 'until-power-fails' }).then(
  (database) => {
    process.stdout.write(`${JSON.stringify({ url: database.url })}\n`);
    setInterval(() => undefined, 60_000);
  },
  (error: Error) => {
    process.stdout.write(`${JSON.stringify({ error: error.message })}\n`);
    process.exit(1);
  },
);

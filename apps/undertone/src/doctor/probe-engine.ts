import { type BackendName, initialiseBackend } from '@undertone/engine';

/** Prints what the engine is, as JSON; the name of the wished one is the only argument. */
async function probe(prefer: 'auto' | BackendName): Promise<void> {
  process.stdout.write(JSON.stringify(await initialiseBackend({ prefer })));
}

probe(process.argv[2] as 'auto' | BackendName).catch((error: Error) => {
  process.stderr.write(error.message);
  process.exit(1);
});

import { startTestServer, type TestServer } from './test-server';
import { SERVER_VARIABLE } from './test-database';

declare global {
  var undertoneTestServer: TestServer | undefined;
}

/** One server for the whole run, of several projects too; the workers find it through the environment. */
module.exports = async (): Promise<void> => {
  globalThis.undertoneTestServer ??= await startTestServer();
  process.env[SERVER_VARIABLE] = globalThis.undertoneTestServer.adminUrl;
};

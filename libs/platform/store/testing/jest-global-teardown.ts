module.exports = async (): Promise<void> => {
  const server = globalThis.undertoneTestServer;
  globalThis.undertoneTestServer = undefined;
  await server?.stop();
};

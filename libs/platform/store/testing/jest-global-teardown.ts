module.exports = async (): Promise<void> => {
  await globalThis.undertoneTestServer?.stop();
};

// Lets Node load TypeScript sources: `node --require ./typescript.cjs script.ts`. For the programs that specs start.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { transformSync } = require('@swc/core');

const root = path.resolve(__dirname, '..');
const options = JSON.parse(readFileSync(path.join(root, '.swcrc'), 'utf8'));
const { paths } = JSON.parse(readFileSync(path.join(root, 'tsconfig.base.json'), 'utf8')).compilerOptions;

const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  const source = paths[request]?.[0];
  return resolve.call(this, source ? path.join(root, source) : request, ...rest);
};
Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...options, swcrc: false, filename });
  module._compile(code, filename);
};

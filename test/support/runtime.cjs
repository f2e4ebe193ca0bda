const { Script } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** By file, for all suites that a process of jest's runs. */
const compiled = new Map();

/**
 * Jest's runtime, which evaluates every module anew for each suite, but compiles it once a process: half a second of
 * each of nearly three hundred suites went into compiling the same thousand files, and into fastify's looking through
 * `require.cache` for the name of each plugin.
 */
module.exports = class CompilingOnce extends Runtime {
  constructor(...args) {
    super(...args);
    const { executor, registries } = this;
    const compileAnew = executor.compile.bind(executor);
    // Jest's own, for what names modules of its own, or imports when it runs.
    executor.compile = (source, filename) => {
      const context = executor.environment.getVmContext();
      if (!context || this._resolution.isCoreModule(filename) || DYNAMIC_IMPORT.test(source)) {
        return compileAnew(source, filename);
      }
      return (
        scriptOf(source, filename, executor.injectedModuleParameters)?.runInContext(context) ??
        compileAnew(source, filename)
      );
    };
    registries.getRequireCacheProxy = () => NO_CACHE;
  }
};

const DYNAMIC_IMPORT = /\bimport\s*\(/;
const NO_CACHE = Object.freeze(Object.create(null));

function scriptOf(source, filename, parameters) {
  const known = compiled.get(filename);
  if (known?.source === source) return known.script;
  const head = `(function (${parameters.join(', ')}) {`;
  try {
    const script = new Script(`${head}${source}\n})`, { filename, columnOffset: -head.length });
    compiled.set(filename, { source, script });
    return script;
  } catch {
    // Jest's own way tells what is wrong with it.
    return undefined;
  }
}

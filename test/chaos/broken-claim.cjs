/**
 * Breaks the claim of hand-over groups on purpose, to see that the checks notice: what a process was
 * handing over when it died is taken for not handed over. Loaded into the service with --require.
 */
const Module = require('node:module');

const load = Module._load;
Module._load = function loadBroken(request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (!request.endsWith('/recover') || !loaded.recoverGroups) return loaded;
  return {
    ...loaded,
    async recoverGroups({ db }, lane, ready) {
      for (let isForgotten = false; !isForgotten; ) {
        const forgetting = db.deleteFrom('handover_batches').where('lane', '=', lane.id).execute();
        isForgotten = await forgetting.then(
          () => true,
          () => new Promise((resolve) => setTimeout(resolve, 250)),
        );
      }
      ready();
    },
  };
};

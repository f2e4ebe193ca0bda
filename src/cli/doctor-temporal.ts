import { ownerOf } from '../storage/directory-lock';
import { openTemporal } from '../temporal/connection';
import { cacheDirectory, lookForExecutable } from '../temporal/executable';
import type { Look } from './doctor';

/** Checks the operator's server, or that of the running instance, or what a managed one needs to start. */
export const lookAtTemporal: Look = async ({ config, credentials, env }) => {
  const check = 'temporal';
  const { address, namespace, cliPath } = config.temporal;
  if (address) {
    await (await openTemporal({ address, namespace, env })).close();
    return [{ check, state: 'ok', found: `the server at ${address} has the namespace ${namespace}` }];
  }
  const managed = ownerOf(config.dataDir) === undefined ? undefined : credentials?.temporal;
  if (managed) {
    await (await openTemporal(managed)).close();
    return [{ check, state: 'ok', found: `the managed server at ${managed.address} answers` }];
  }
  const { found, tried } = await lookForExecutable({ cliPath, cacheDir: cacheDirectory(env), env });
  if (found) {
    return [
      { check, state: 'ok', found: `a managed server would be started by ${found.path} (${found.origin})` },
    ];
  }
  return [
    {
      ...{ check, state: 'note', found: `there is no temporal executable yet (${tried.join('; ')})` },
      wayOut: 'The first start obtains one; or install the Temporal CLI, or set TEMPORAL_ADDRESS.',
    },
  ];
};

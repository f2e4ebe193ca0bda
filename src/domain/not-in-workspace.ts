import { DomainError } from './errors';

/** What the way out is where an id names nothing: the call that lists what there is. */
export const listedBy = (path: string): string => `GET ${path} lists those that there are`;

/** Refuses an id of a workspace's own things, and names the call that lists them. */
export const notInWorkspace = (what: string, path: string): DomainError =>
  new DomainError('not_found', `No ${what} in this workspace; ${listedBy(path)}`);

import type * as doctor from './doctor';
import type * as migrate from './migrate';
import type * as product from './run-parts';
import type * as preview from './template-preview';
import type * as pull from './template-pull';
import type * as push from './template-push';

/**
 * Loads the slow parts only for commands that need them. The whole product takes more than a second to load,
 * and most commands only talk HTTP to a running one.
 */
export const runParts: typeof product.runParts = (...args) =>
  (require('./run-parts') as typeof product).runParts(...args);
export const runDoctor: typeof doctor.runDoctor = (...args) =>
  (require('./doctor') as typeof doctor).runDoctor(...args);
export const migrateDatabase: typeof migrate.migrateDatabase = (...args) =>
  (require('./migrate') as typeof migrate).migrateDatabase(...args);
export const pushTemplates: typeof push.pushTemplates = (...args) =>
  (require('./template-push') as typeof push).pushTemplates(...args);
export const pullTemplates: typeof pull.pullTemplates = (...args) =>
  (require('./template-pull') as typeof pull).pullTemplates(...args);
export const previewTemplate: typeof preview.previewTemplate = (...args) =>
  (require('./template-preview') as typeof preview).previewTemplate(...args);

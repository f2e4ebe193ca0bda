import type * as doctor from './doctor';
import type * as migrate from './migrate';
import type * as product from './run-parts';
import type * as files from './template-files';
import type * as preview from './template-preview';

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
export const pushTemplates: typeof files.pushTemplates = (...args) =>
  (require('./template-files') as typeof files).pushTemplates(...args);
export const pullTemplates: typeof files.pullTemplates = (...args) =>
  (require('./template-files') as typeof files).pullTemplates(...args);
export const previewTemplate: typeof preview.previewTemplate = (...args) =>
  (require('./template-preview') as typeof preview).previewTemplate(...args);

import { LIMITS } from '../../domain/limits';
import type { Provider } from '../provider';

/** Of every vendor's HTTP API: one request for a message or call, with its own answer, and none that may be repeated. */
export const VENDOR_CAPABILITIES: Provider['capabilities'] = {
  idempotent: false,
  receipts: true,
  batchMax: LIMITS.vendorConnections,
  parallel: LIMITS.vendorConnections,
  answersEach: true,
};

import { LIMITS } from '../../domain/limits';
import type { Provider } from '../provider';

/**
 * What the HTTP APIs of all vendors have in common: one request and one answer for each message or call, and
 * no safe repetition.
 */
export const VENDOR_CAPABILITIES: Provider['capabilities'] = {
  idempotent: false,
  receipts: true,
  batchMax: LIMITS.vendorConnections,
  parallel: LIMITS.vendorConnections,
  answersEach: true,
};

import type { VendorKind } from '../../domain/account';
import { TWILIO } from '../twilio/twilio';
import type { Vendor } from './vendor';

/** Every kind of carrier with an API of its own that messages can leave by. */
export const VENDORS: Partial<Record<VendorKind, Vendor>> = { twilio: TWILIO };

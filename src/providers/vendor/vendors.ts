import type { VendorKind } from '../../domain/account';
import { TELNYX } from '../telnyx/telnyx';
import { TWILIO } from '../twilio/twilio';
import { VONAGE } from '../vonage/vonage';
import type { Vendor } from './vendor';

/** Every kind of carrier with an API of its own that messages can leave by. */
export const VENDORS: Partial<Record<VendorKind, Vendor>> = {
  twilio: TWILIO,
  telnyx: TELNYX,
  vonage: VONAGE,
};

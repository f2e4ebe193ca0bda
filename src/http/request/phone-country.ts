import type { CountryCode } from 'libphonenumber-js/max';
import { phoneRegion } from '../../campaigns/contacts/contact-fields';
import { invalidRequest } from './validation';

/** The country that `?country=` names, for phone numbers without a country code. */
export function regionOf(country: string | undefined): CountryCode | undefined {
  if (country === undefined) return undefined;
  const region = phoneRegion(country);
  if (region !== undefined) return region;
  throw invalidRequest([
    {
      path: 'country',
      code: 'unknown_country',
      message: 'There is no country with this code; name it by two letters, such as US',
    },
  ]);
}

import type { InboundParts, SmsParts } from '../../../src/providers/smpp/parts';

/** For messages of one part, of which nothing need be kept; the database's own are tested in test/messaging. */
export const noParts: SmsParts = {
  record: async () => undefined,
  resolve: async (receipts) =>
    receipts.map(({ candidates, receipt, about }) => ({ providerId: candidates[0], ...receipt, about })),
  takeEarly: async () => undefined,
  settleLost: async () => undefined,
};

/** For subscribers whose texts come whole. */
export const noInboundParts: InboundParts = {
  keep: async () => undefined,
  takeWhole: async () => undefined,
};

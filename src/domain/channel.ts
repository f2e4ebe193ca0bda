/** The three ways a message reaches a person. Order is the order of display. */
export const CHANNELS = ['email', 'sms', 'voice'] as const;
export type Channel = (typeof CHANNELS)[number];

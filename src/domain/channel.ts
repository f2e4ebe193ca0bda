/** The three ways a message reaches a person, in display order. */
export const CHANNELS = ['email', 'sms', 'voice'] as const;
export type Channel = (typeof CHANNELS)[number];

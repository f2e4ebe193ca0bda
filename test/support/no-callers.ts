/** For servers whose routes are open to all: they know no session, token or key. */
const unknown = async () => undefined;

export const NO_CALLERS = { bySession: unknown, byAccessToken: unknown, byApiKey: unknown };

/**
 * Something outside the program keeps it from starting: a port in use, a locked directory, a wrong
 * variable. `message` names the cause, `wayOut` what the operator can do; both are printed as they are
 * and the process ends with exit code 1. Anything else thrown at start-up is a bug and shows its stack.
 */
export class StartupError extends Error {
  readonly wayOut: string;
  /** Whether the same may succeed a little later: something is out of reach, and not wrong. */
  readonly mayPass: boolean;

  constructor(message: string, wayOut: string, options: { cause?: unknown; mayPass?: boolean } = {}) {
    super(message, options);
    this.name = 'StartupError';
    this.wayOut = wayOut;
    this.mayPass = options.mayPass ?? false;
  }
}

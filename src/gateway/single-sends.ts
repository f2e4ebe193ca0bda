import type { SendAnswer } from './gateway';
import { lostAnswer, NOT_SENT } from './send-answer';
import type { SendPool } from './send-thread';
import type { Token, TokenSource } from './token-source';
import { type HttpAnswer, NoAnswer } from './transport';

interface Deps {
  tokens: TokenSource;
  headers(token: Token): Readonly<Record<string, string>>;
  meaning(answer: HttpAnswer): SendAnswer;
}

interface Sending {
  campaign: string;
  /** JSON texts, one of each message. */
  bodies: readonly string[];
  stopped: AbortSignal | undefined;
}

/** By the message's index. */
type Answers = Map<number, SendAnswer>;

/**
 * Sends messages in a request each. A token may end while they leave, and the rest of them go with the next one.
 */
export class SingleSends {
  constructor(
    private readonly deps: Deps,
    private readonly pool: SendPool,
  ) {}

  /** Returns one answer for each message, in order. */
  async send(sending: Sending): Promise<SendAnswer[]> {
    const answers: Answers = new Map();
    const others = await this.sendAll(sending, answers).catch(lostAnswer);
    return sending.bodies.map((_, i) => answers.get(i) ?? others);
  }

  close(): void {
    this.pool.close();
  }

  /** Returns the answer of those that have none of their own, because they did not leave or their token was refused. */
  private async sendAll(sending: Sending, answers: Answers): Promise<SendAnswer> {
    const { tokens, meaning } = this.deps;
    for (let isSecond = false; ; ) {
      const token = await tokens.get();
      const before = answers.size;
      const refusal = await this.sendRest(token, sending, answers);
      if (sending.stopped?.aborted || answers.size === sending.bodies.length) return NOT_SENT;
      if (!refusal) continue;
      const worked = answers.size > before;
      // A new token that is refused at once says that another one would be refused as well.
      if (!tokens.refused(token) || (isSecond && !worked)) return meaning(refusal);
      isSecond = !worked;
    }
  }

  /** Sends what has no answer yet; returns the service's refusal of the token, if it refused it. */
  private async sendRest(
    token: Token,
    { campaign, bodies, stopped }: Sending,
    answers: Answers,
  ): Promise<HttpAnswer | undefined> {
    const { tokens, meaning, headers } = this.deps;
    const rest = Array.from(bodies.keys()).filter((i) => !answers.has(i));
    const chunk = {
      campaign,
      path: '/send-msg',
      headers: headers(token),
      bodies: rest.map((i) => bodies[i] as string),
      until: tokens.endOf(token),
    };
    let refusal: HttpAnswer | undefined;
    const onAnswer = (at: number, answer: HttpAnswer | NoAnswer) => {
      const i = rest[at] as number;
      if (answer instanceof NoAnswer) answers.set(i, lostAnswer(answer));
      else if (answer.status === 401) refusal = answer;
      else {
        tokens.worked(token);
        answers.set(i, meaning(answer));
      }
    };
    await this.pool.send(chunk, onAnswer, stopped);
    return refusal;
  }
}

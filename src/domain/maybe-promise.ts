/**
 * A value, or a promise of it. What is asked for by every request and is nearly always in memory is returned as it is,
 * because each promise on the way costs about a microsecond while asynchronous contexts are followed.
 */
export type MaybePromise<Value> = Value | Promise<Value>;

export function whenDone<Value, Result>(
  value: MaybePromise<Value>,
  then: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(then) : then(value);
}

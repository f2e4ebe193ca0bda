/**
 * A value, or a promise of it. A value that every request needs and that is nearly always in memory is
 * returned without a promise, because each promise on the way costs about a microsecond while asynchronous
 * contexts are followed.
 */
export type MaybePromise<Value> = Value | Promise<Value>;

export function whenDone<Value, Result>(
  value: MaybePromise<Value>,
  then: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(then) : then(value);
}

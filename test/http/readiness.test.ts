import { createReadiness } from '../../src/http/health';

test('a dependency that hangs counts as away, is asked once for many callers, and is asked anew after its answer', async () => {
  let asked = 0;
  let answer: () => void = () => undefined;
  const hanging = () => {
    asked++;
    return new Promise<void>((done) => {
      answer = done;
    });
  };
  const ready = createReadiness({ database: hanging, temporal: async () => 'there' }, 50);
  expect(await Promise.all([ready(), ready()])).toEqual([
    { database: false, temporal: true },
    { database: false, temporal: true },
  ]);
  expect(await ready()).toEqual({ database: false, temporal: true });
  expect(asked).toBe(1);
  answer();
  const next = ready();
  await Promise.resolve();
  answer();
  expect((await next).database).toBe(true);
});

test('a dependency that refuses is away', async () => {
  const ready = createReadiness({ database: () => Promise.reject(new Error('refused')) });
  expect(await ready()).toEqual({ database: false });
});

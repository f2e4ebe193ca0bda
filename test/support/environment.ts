import NodeEnvironment from 'jest-environment-node';

/**
 * Node's environment, plus the one thing a clean-up hook cannot learn from jest otherwise: whether the
 * test it cleans up after has failed. Databases of failed tests are kept as evidence.
 */
export default class Environment extends NodeEnvironment {
  constructor(...args: ConstructorParameters<typeof NodeEnvironment>) {
    super(...args);
    this.global.testHasFailed = false;
    this.global.fileHasFailed = false;
  }

  handleTestEvent(event: { name: string }): void {
    if (event.name === 'test_start') this.global.testHasFailed = false;
    if (event.name === 'test_fn_failure' || event.name === 'hook_failure') {
      this.global.testHasFailed = true;
      this.global.fileHasFailed = true;
    }
  }
}

import { describePhoneThatWritesStop } from './phone-that-writes-stop';

describePhoneThatWritesStop('kannel');

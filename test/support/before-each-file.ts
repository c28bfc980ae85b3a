// Before anything that loads the runner.
import './followed-promises.ts'
import { isMainThread } from 'node:worker_threads'
import { forgetSomebody } from './nobodys-environment.ts'

/**
 * Loaded before every test file: at a terminal the runner itself asks them all for colours, and what programs print is
 * compared with what they print into a pipe. Files are made as most people's shells have them made.
 */
forgetSomebody()
if (isMainThread) process.umask(0o022)

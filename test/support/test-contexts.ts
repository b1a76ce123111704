/**
 * Loaded before node:test, which finds the test that a call of test(), before() or after() belongs to by following every promise from
 * its creation to its end with async_hooks. That makes each promise of the server slower than in production, and takes a fifth of the
 * processor time of the tests. Here an AsyncLocalStorage follows them, which promises carry along at no cost.
 */
import hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = hooks

type Work = (...args: unknown[]) => unknown

if (isMainThread) replaceHook()

function replaceHook(): void {
  const currentTest = new AsyncLocalStorage<number>()
  const known = new WeakSet<hooks.AsyncResource>()
  let addTest: hooks.HookCallbacks['init']
  // The first hook is that of node:test. It maps the ids of tests to tests.
  hooks.createHook = (callbacks) => {
    if (addTest !== undefined || callbacks.init === undefined) return createHook(callbacks)
    addTest = callbacks.init
    return createHook({})
  }
  hooks.executionAsyncId = () => currentTest.getStore() ?? executionAsyncId()
  const { runInAsyncScope } = AsyncResource.prototype
  function runInScope(this: hooks.AsyncResource, work: Work, receiver: unknown, ...args: unknown[]): unknown {
    // Tests, suites and hooks have a place in a file.
    if (addTest === undefined || !('loc' in this)) return runInAsyncScope.call(this, work, receiver, ...args)
    if (!known.has(this)) addTest(this.asyncId(), 'Test', 0, this)
    known.add(this)
    const act = () => currentTest.run(this.asyncId(), () => Reflect.apply(work, receiver, args))
    return runInAsyncScope.call(this, act)
  }
  Object.defineProperty(AsyncResource.prototype, 'runInAsyncScope', { value: runInScope })
  syncBuiltinESMExports()
}

/** Awaits a promise, but rejects as soon as the signal aborts. The work behind the promise continues. */
export async function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) {
    // Its result is not awaited: an error of it must not end the process.
    work.catch(() => {})
    throw signal.reason
  }
  let abort = (): void => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Waiting: a spinner, and the outline of what is loaded; both appear only after a while. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export function Spinner() {
  return <span class="spinner" aria-hidden="true" />
}

/** Shorter waits show nothing, so that the page does not flicker. */
const PATIENCE_MS = 150

/** Whether something has been true for long enough to tell the user. */
export function useSlow(waiting: boolean, after = PATIENCE_MS): boolean {
  const [slow, setSlow] = useState(false)
  useEffect(() => {
    setSlow(false)
    if (!waiting) return
    const timer = setTimeout(() => setSlow(true), after)
    return () => clearTimeout(timer)
  }, [waiting, after])
  return waiting && slow
}

/** Fills its place while something is loaded; nothing at first. Without a text it shows grey lines where the content will be. */
export function Loading({ children }: { readonly children?: ComponentChildren }) {
  const slow = useSlow(true)
  if (children === undefined)
    return (
      <div class="skeleton" role="status">
        {slow && (
          <>
            <span class="visually-hidden">Loading …</span>
            <i />
            <i />
            <i />
            <i />
          </>
        )}
      </div>
    )
  return (
    <div class="loading" role="status">
      {slow && (
        <>
          <Spinner />
          {children}
        </>
      )}
    </div>
  )
}

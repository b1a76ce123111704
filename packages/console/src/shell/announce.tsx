/** Announces changes of the page to screen readers, such as the number of results. */
import { signal } from '@preact/signals'

const told = signal('')

/** Read aloud when the user pauses: `announce('1,204 rows in 32 ms')`. */
export function announce(text: string): void {
  told.value = text
}

export function Announcements() {
  return (
    <p class="visually-hidden" role="status">
      {told.value}
    </p>
  )
}

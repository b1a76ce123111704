/** Announces to screen readers what changed on the page, such as the number of results. */
import { signal } from '@preact/signals'

const spoken = signal('')

/** Read aloud when the user pauses: `announce('1,204 rows in 32 ms')`. */
export function announce(text: string): void {
  spoken.value = text
}

export function Announcements() {
  return (
    <p class="visually-hidden" role="status">
      {spoken.value}
    </p>
  )
}

/** A secret that was just created: kept until its page is left, and nowhere else. */
import { signal } from '@preact/signals'

const kept = signal<{ readonly client: string; readonly secret: string } | undefined>(undefined)

export function keepSecret(client: string, secret: string): void {
  kept.value = { client, secret }
}

export function shownSecret(client: string): string | undefined {
  return kept.value?.client === client ? kept.value.secret : undefined
}

export function forgetSecret(): void {
  kept.value = undefined
}

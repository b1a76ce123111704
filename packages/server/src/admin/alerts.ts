/** What the administration of alerts has besides their definition: their states. */
import type { Alert } from '../store/alerts/alert.ts'
import type { JsonObject } from './request/body.ts'
import type { ResourceSpecials } from './resource-kind.ts'
import type { AdminEnv } from './route.ts'

export const ALERT_SPECIALS: ResourceSpecials<Alert> = {
  details: async (alert, env) => (await listStates([alert], env))[0] ?? {},
  listDetails: listStates,
}

/** Unknown where no query service runs. */
async function listStates(alerts: readonly Alert[], { alertStates }: AdminEnv): Promise<readonly JsonObject[]> {
  const states = await alertStates?.(alerts.map(({ id }) => id))
  return alerts.map(({ id, definition }) => {
    const known = states?.get(id)
    const state = definition.paused ? 'paused' : (known?.state ?? null)
    return { state, error: known?.error ?? null }
  })
}

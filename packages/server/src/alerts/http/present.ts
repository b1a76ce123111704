/** Alerts as replies show them. */
import { declareAlert } from '../../resources/alert-shape.ts'
import type { ShownAlert } from '../service.ts'

export function presentAlert({ alert, run }: ShownAlert): object {
  const { id, owner, ownerName, name, version, created, updated, definition } = alert
  return {
    id,
    ...declareAlert(name, definition),
    mode: definition.mode,
    paused: definition.paused,
    channels: definition.channels,
    owner,
    username: ownerName ?? null,
    version,
    state: definition.paused ? 'paused' : (run?.state ?? 'ok'),
    error: run?.error ?? null,
    watched: run?.watched == null ? null : new Date(run.watched).toISOString(),
    created: new Date(created).toISOString(),
    updated: new Date(updated).toISOString(),
  }
}

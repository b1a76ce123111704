/** The sessions of a node, with the system catalogue that they share. */
import { openCatalogue } from '../catalogue/catalogue.ts'
import type { OpenSession, SessionEnv } from './contract.ts'
import { createSessions } from './session.ts'

export interface SessionsOptions {
  /** What statements are run with. */
  readonly query: Omit<SessionEnv, keyof SessionsOptions | 'systemCatalogue'>
  readonly rateLimits: SessionEnv['rateLimits']
  readonly trace: SessionEnv['trace']
  readonly allowsWrites: SessionEnv['allowsWrites']
  readonly version: SessionEnv['version']
  readonly startedAt: number
  readonly dataFolder: string
  readonly onError: SessionEnv['onError']
}

export interface Sessions {
  readonly openSession: OpenSession
  /** Ends the processes of the catalogue. */
  close(): void
}

export function openSessions(options: SessionsOptions): Sessions {
  const { query, rateLimits, trace, allowsWrites, version, startedAt, dataFolder, onError } = options
  const systemCatalogue = openCatalogue({ version: `15.0 (Gatehouse ${version})`, startedAt, dataFolder })
  return {
    openSession: createSessions({ ...query, rateLimits, trace, systemCatalogue, allowsWrites, version, onError }),
    close: () => systemCatalogue.close(),
  }
}

/** A module of the certification suite as data: its id, the response types that it runs with, and what it does. */
import type { TypeCode } from '../support/providers/provider.ts'
import type { Trial } from './trial.ts'

export interface Module {
  /** The suite's own name for it. */
  readonly id: string
  readonly types: readonly TypeCode[]
  /** Also repeated with response_mode=form_post; true unless said otherwise. */
  readonly formPost?: false
  readonly run: (trial: Trial) => Promise<unknown>
}

export const ALL: readonly TypeCode[] = ['C', 'I', 'IT', 'CI', 'CT', 'CIT']
export const WITH_CODE: readonly TypeCode[] = ['C', 'CI', 'CT', 'CIT']
export const WITH_ACCESS_TOKEN: readonly TypeCode[] = ['C', 'IT', 'CI', 'CT', 'CIT']

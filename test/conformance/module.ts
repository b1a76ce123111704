/** A module of the certification suite as data: its id, its response types and its test. */
import type { TypeCode } from '../support/providers/provider.ts'
import type { Trial } from './trial.ts'

export interface Module {
  /** The name of the module in the suite. */
  readonly id: string
  readonly types: readonly TypeCode[]
  /** False if the module is not repeated with response_mode=form_post. */
  readonly formPost?: false
  readonly run: (trial: Trial) => Promise<unknown>
}

export const ALL: readonly TypeCode[] = ['C', 'I', 'IT', 'CI', 'CT', 'CIT']
export const WITH_CODE: readonly TypeCode[] = ['C', 'CI', 'CT', 'CIT']
export const WITH_ACCESS_TOKEN: readonly TypeCode[] = ['C', 'IT', 'CI', 'CT', 'CIT']

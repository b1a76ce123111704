/** The scanners and parsers that meet bytes of a caller, with what to attack each of them with. */
import type { Scanner } from '../linear-time.ts'
import { BULK_SCANNERS } from './bulk-scanners.ts'
import { IDENTITY_SCANNERS } from './identity-scanners.ts'
import { REQUEST_SCANNERS } from './request-scanners.ts'
import { STATEMENT_SCANNERS } from './statement-scanners.ts'

export const SCANNERS: readonly Scanner[] = [
  ...STATEMENT_SCANNERS,
  ...REQUEST_SCANNERS,
  ...IDENTITY_SCANNERS,
  ...BULK_SCANNERS,
]

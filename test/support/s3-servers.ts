/** The servers with the API of S3 that others wrote, for tests of replication. */
import { findMoto, startMoto } from './moto.ts'
import { findVersitygw, startVersitygw, VERSITYGW_CREDENTIALS } from './versitygw.ts'

export interface ForeignS3 {
  readonly url: string
  close(): Promise<void>
}

/** moto takes any. */
export const S3_CREDENTIALS = VERSITYGW_CREDENTIALS

/** How each is found, or a text that says what is missing. */
export const S3_SERVERS: readonly (readonly [
  name: string,
  find: () => Promise<{ start(): Promise<ForeignS3> } | string>,
])[] = [
  [
    'moto',
    async () => {
      const found = await findMoto()
      return typeof found === 'string' ? found : { start: () => startMoto(found.program) }
    },
  ],
  [
    'versitygw',
    async () => {
      const found = await findVersitygw()
      return typeof found === 'string' ? found : { start: () => startVersitygw(found.program) }
    },
  ],
]

/** The part of http_ece that tests use. */
declare module 'http_ece' {
  export function decrypt(
    body: Buffer,
    options: { version: 'aes128gcm'; privateKey: unknown; authSecret: string },
  ): Buffer
}

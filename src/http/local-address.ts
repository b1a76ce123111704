/** The address of a request within this server: below its base, and without the origin that some write before it (RFC 9112 §3.2.2). */
export function localAddress(url: string, base: string): string {
  const own = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*\/?/i, '/')
  return base !== '' && own.startsWith(`${base}/`) ? own.slice(base.length) : own
}

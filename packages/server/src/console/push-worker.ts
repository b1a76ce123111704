/** The service worker of the console: shows what alerts tell by push, and opens the console at a click. */
export const PUSH_WORKER = `addEventListener('push', (event) => {
  const { title = '', text = '', url = '', tag = '' } = event.data?.json() ?? {}
  event.waitUntil(registration.showNotification(title, { body: text, tag, data: { url }, renotify: tag !== '' }))
})
addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { url } = event.notification.data
  // Only pages of this server: a notice comes from its alerts, and its texts from their owners.
  if (url === '' || new URL(url).origin !== location.origin) return
  event.waitUntil(
    clients.matchAll({ type: 'window' }).then((windows) => {
      const open = windows.find((each) => each.url === url)
      return open === undefined ? clients.openWindow(url) : open.focus()
    }),
  )
})
`

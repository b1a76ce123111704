// Continues when every front-channel logout iframe has loaded, or when the wait is over.
const frames = document.getElementById('frames')
const next = document.getElementById('signed-out-continue')
if (frames !== null && next instanceof HTMLAnchorElement) {
  let waiting = frames.querySelectorAll('iframe').length
  const leave = () => location.replace(next.href)
  // An iframe that loaded before this script ran sends no event; the timeout covers it.
  for (const frame of frames.querySelectorAll('iframe')) {
    frame.addEventListener('load', () => {
      waiting -= 1
      // Its page may still be running scripts.
      if (waiting === 0) setTimeout(leave, 300)
    })
  }
  setTimeout(leave, Number(frames.dataset.wait) * 1000)
}

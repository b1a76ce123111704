// Goes on as soon as every application has been told, or when its time is up.
const frames = document.getElementById('frames')
const next = document.getElementById('signed-out-continue')
if (frames !== null && next instanceof HTMLAnchorElement) {
  let waiting = frames.querySelectorAll('iframe').length
  const goOn = () => location.replace(next.href)
  // A frame that was ready before this script ran tells nothing more; the time limit covers it.
  for (const frame of frames.querySelectorAll('iframe')) {
    frame.addEventListener('load', () => {
      waiting -= 1
      // The application may still be at work on what its page started.
      if (waiting === 0) setTimeout(goOn, 300)
    })
  }
  setTimeout(goOn, Number(frames.dataset.wait) * 1000)
}

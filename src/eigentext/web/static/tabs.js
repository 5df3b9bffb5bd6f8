// Other tabs with this page: what one changes it tells the others.
const channel = new BroadcastChannel("eigentext");

export const tell = (news) => channel.postMessage(news);
export const listen = (act) => channel.addEventListener("message", (event) => act(event.data));

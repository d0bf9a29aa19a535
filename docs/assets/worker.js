// A page that is opened as a file may not start a worker, which search needs: this one runs the worker in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (sent) => {
        const data = structuredClone(sent);
        setTimeout(() => this.onmessage?.({ data }));
      };
      const script = inner.document.createElement("script");
      script.src = new URL(address, document.baseURI).href;
      this.loaded = new Promise((done) => (script.onload = done));
      script.onerror = () => this.onerror?.(new Event("error", { cancelable: true }));
      inner.document.body.append(script);
    }

    postMessage(sent) {
      const data = structuredClone(sent);
      this.loaded.then(() => this.frame.contentWindow?.onmessage({ data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}

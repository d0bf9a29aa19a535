// A page that is opened as a file may not start a worker from a file: this one starts it from text that loads the file.
if (location.protocol === "file:") {
  const Plain = window.Worker;
  window.Worker = class extends Plain {
    constructor(address, options) {
      const text = `importScripts(${JSON.stringify(new URL(address, document.baseURI).href)})`;
      super(URL.createObjectURL(new Blob([text], { type: "text/javascript" })), options);
    }
  };
}

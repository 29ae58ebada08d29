// dnn_training_gpu.cu: dnn_training.cpp, with its weights in the memory of a GPU, where kernels change them. GPM §5.3, figure 7.
//
//   example_dnn_training_gpu POOL [STEPS]
#include "dnn_training.cpp"
